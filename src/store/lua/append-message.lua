-- Appends a message to the log of other messages.
-- KEYS[1] sequence counter   KEYS[2] log
-- ARGV    the entry's fields and values
-- returns its sequence number
local sequence = redis.call('INCR', KEYS[1])
redis.call('XADD', KEYS[2], string.format('%.0f-0', sequence), unpack(ARGV))
return sequence
