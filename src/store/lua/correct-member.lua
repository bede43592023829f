-- Corrects one member of a set by its record, which names the owner of the set it belongs to.
-- KEYS     the set, the member's record, the set of ids of the member's kind
-- ARGV     the field of the record, the owner of the set, the member
-- returns  1, or 0 when nothing was changed: a lost record may yet be restored
local named = redis.pcall('HGET', KEYS[2], ARGV[1])
if type(named) == 'table' then return 0 end
if redis.call('TYPE', KEYS[1]).ok ~= 'set' then redis.call('DEL', KEYS[1]) end
if named == ARGV[2] then return redis.call('SADD', KEYS[1], ARGV[3]) end
local isLost = redis.call('EXISTS', KEYS[2]) == 0
if isLost and redis.call('SISMEMBER', KEYS[3], ARGV[3]) == 1 then return 0 end
return redis.call('SREM', KEYS[1], ARGV[3])
