"""From a free-form reply to the one option it chooses; the public face is `m3ke_async.choice`."""
