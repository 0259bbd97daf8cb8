"""What a user would write without gepipe, and the limit of the machine: the benchmarks compare with these.

Each is meant as a good engineer's code, and none of it imports anything of gepipe. Where a thing has a usual form and a
better one, both are here. `limit.py` measures the bare kernels of a pipeline, alone.

chain.py        an array to a small model: resize first, convert first, cv2.dnn.blobFromImage
orientation.py  a JPEG to a light classifier: OpenCV, and Pillow
yolo11.py       a JPEG to boxes
cnclip.py       a picture to its embedding, in Pillow's filter
thread_pool.py  any of them in threads
limit.py        the limit
triton/         the usual hand-written Triton ensembles
peers/          other libraries, each in an environment of its own
"""
