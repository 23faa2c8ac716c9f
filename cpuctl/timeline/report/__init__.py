"""The visible results of a replay: views, expectations, the history of CPUs, service level indicators."""
