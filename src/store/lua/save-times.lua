-- Saves when devices were last seen, or tokens last used.
-- KEYS[1] the hash of these times
-- KEYS[2] the hash of the records of devices or tokens
-- ARGV[1] MessagePack: for each its id, and the text of its time
-- returns how many were saved: those without a record are left out
local saved = 0
for _, row in ipairs(cmsgpack.unpack(ARGV[1])) do
  if redis.call('HEXISTS', KEYS[2], row[1]) == 1 then
    redis.call('HSET', KEYS[1], row[1], row[2])
    saved = saved + 1
  end
end
return saved
