-- Saves when devices were last seen, and retains their statuses.
-- KEYS[1] the retained messages
-- ARGV[1] prefix of the devices' records   ARGV[2] the hash of when devices were last seen
-- ARGV[3] MessagePack: for each device its id, when it was last seen, topic and packet of its status
-- returns how many devices were saved: one without a record is left out
local retained, records, lastSeen = KEYS[1], ARGV[1], ARGV[2]
local saved = 0
for _, device in ipairs(cmsgpack.unpack(ARGV[3])) do
  if redis.call('EXISTS', records .. device[1]) == 1 then
    redis.call('HSET', retained, device[3], device[4])
    redis.call('HSET', lastSeen, device[1], device[2])
    saved = saved + 1
  end
end
return saved
