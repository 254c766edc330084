"""
moto's S3 server (`pip install 'moto[server]'`) for object-store.js: s3-server.py <port>, with an empty bucket "bench".
moto reads an object anew, and whole, for each range of it that is asked for; here its bytes are kept once read.
"""

import sys

import boto3
from moto.s3.models import FakeKey
from moto.server import ThreadedMotoServer

read_and_write = FakeKey.value


def read(self):
    if getattr(self, "_kept", None) is None:
        self._kept = read_and_write.fget(self)
    return self._kept


def write(self, content):
    self._kept = None
    read_and_write.fset(self, content)


FakeKey.value = property(read, write)
port = int(sys.argv[1])
server = ThreadedMotoServer(ip_address="127.0.0.1", port=port)
server.start()
client = boto3.client(
    "s3",
    endpoint_url=f"http://127.0.0.1:{port}",
    region_name="us-east-1",
    aws_access_key_id="a",
    aws_secret_access_key="b",
)
client.create_bucket(Bucket="bench")
print("ready", flush=True)
server._thread.join()
