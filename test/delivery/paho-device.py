"""A device as an integrator writes it with Debian's python3-paho-mqtt 1.6.

Arguments: port, device id, secret, topic, version of MQTT (3.1.1 or 5). Publishes each line of the standard input at QoS 1 and
prints "acknowledged N" once its PUBACK has come.
"""
import sys

import paho.mqtt.client as mqtt

port, device_id, secret, topic, version = sys.argv[1:]
client_id = "paho-" + device_id
if version == "5":
    client = mqtt.Client(client_id=client_id, protocol=mqtt.MQTTv5)
else:
    client = mqtt.Client(client_id=client_id, clean_session=False)
client.username_pw_set(device_id, secret)
client.connect("127.0.0.1", int(port), keepalive=30)
client.loop_start()
for number, line in enumerate(sys.stdin, 1):
    message = client.publish(topic, line.rstrip("\n"), qos=1)
    message.wait_for_publish(10)
    print("acknowledged" if message.is_published() else "not acknowledged", number, flush=True)
client.disconnect()
client.loop_stop()
