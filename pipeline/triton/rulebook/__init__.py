"""The rule book of Triton repositories: ensembles, models, requests, what Triton lets pass, and npu_ge."""
