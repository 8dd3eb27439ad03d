"""Many workers: several processes that share one store and the work of all its runs."""
