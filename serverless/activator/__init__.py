"""The control loop that keeps as many workers as the queue of a function needs."""
