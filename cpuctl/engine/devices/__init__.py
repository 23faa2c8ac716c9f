"""The device manager: the devices of device plugins, and which containers get them."""
