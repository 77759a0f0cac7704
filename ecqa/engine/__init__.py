"""The engine: runs recipes, in this process or on Ray, shard by shard, each row exactly once.

The only room that imports Ray, and it does so late: ``run_local`` needs no Ray.
"""
