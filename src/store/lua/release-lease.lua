-- Gives the lease up. Its epoch stays, because it must only rise.
-- KEYS[1]  lease (take-lease.lua)
-- ARGV[1]  the token of the holder
-- returns  1, or 0 when another holder has it
if redis.call('HGET', KEYS[1], 'token') ~= ARGV[1] then return 0 end
-- For a store with full memory, as in take-lease.lua.
redis.call('PERSIST', KEYS[1])
redis.call('HSET', KEYS[1], 'holder', '', 'place', '', 'untilMs', '0', 'token', '')
return 1
