"""What tests share: a scripted model and a real AstrBot to run the plugin in."""
