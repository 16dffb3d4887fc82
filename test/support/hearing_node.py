"""A program that prints whom it hears over DDS, on which addresses it listens, and what memory it shares."""

NODE = """
import json, os, sys, time
import rclpy
from rclpy.node import Node
from std_msgs.msg import String

rclpy.init()
node, heard = Node(sys.argv[1]), set()
publisher = node.create_publisher(String, "name", 10)
node.create_subscription(String, "name", lambda message: heard.add(message.data), 10)
end_s = time.monotonic() + 1200.0
while len(heard) < 2 and time.monotonic() < end_s:
    publisher.publish(String(data=sys.argv[1]))
    rclpy.spin_once(node, timeout_sec=0.05)
for _ in range(20):
    publisher.publish(String(data=sys.argv[1]))
    time.sleep(0.05)
files = [os.path.realpath(f"/proc/self/fd/{name}") for name in os.listdir("/proc/self/fd")]
sockets = {file.rpartition("/")[2] for file in files}
lines = [line.split() for line in open("/proc/net/udp").readlines()[1:]]
addresses = sorted({line[1].split(":")[0] for line in lines if f"socket:[{line[9]}]" in sockets})
shared = [file for file in files if "/dev/shm/fastrtps" in file]
print(json.dumps({"heard": sorted(heard), "addresses": addresses, "shared": shared}))
"""
