"""What can be done with the inputs: plan, resize, check, change what is saved, write CPU sets."""
