-- Saves when devices were last seen.
-- KEYS[1] the hash of when devices were last seen
-- KEYS[2] the hash of the devices' records
-- ARGV[1] MessagePack: for each device its id, and when it was last seen
-- returns how many devices were saved: one without a record is left out
local saved = 0
for _, device in ipairs(cmsgpack.unpack(ARGV[1])) do
  if redis.call('HEXISTS', KEYS[2], device[1]) == 1 then
    redis.call('HSET', KEYS[1], device[1], device[2])
    saved = saved + 1
  end
end
return saved
