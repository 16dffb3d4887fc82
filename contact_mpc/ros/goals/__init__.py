"""Goals for the object at run time: the desk that takes them, the search in a process of its own, who may ask.

Decisions are made without ROS (`desk`, `search`); `client` is for programs of one's own.
"""
