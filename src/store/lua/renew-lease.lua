-- Renews the lease for its holder, even in a store that was emptied or went back to before it was taken.
-- KEYS[1]  lease (take-lease.lua)
-- ARGV[1]  holder   ARGV[2] its place   ARGV[3] milliseconds until the lease ends   ARGV[4] its epoch
-- returns  1 while the holder has it, else 0; its epoch; its holder, '' for none
local token = ARGV[4] .. ' ' .. ARGV[1]
local lease = redis.call('HMGET', KEYS[1], 'holder', 'epoch', 'untilMs', 'token')
local holder, epoch, untilMs = lease[1] or '', tonumber(lease[2]) or 0, tonumber(lease[3]) or 0
local time = redis.call('TIME')
local nowMs = time[1] * 1000 + math.floor(time[2] / 1000)
local isBefore = epoch < tonumber(ARGV[4]) and untilMs <= nowMs
if lease[4] ~= token and not isBefore then return {0, epoch, holder} end
-- For a store with full memory, as in take-lease.lua.
redis.call('PERSIST', KEYS[1])
redis.call('HSET', KEYS[1], 'holder', ARGV[1], 'place', ARGV[2], 'epoch', ARGV[4],
  'untilMs', string.format('%.0f', nowMs + ARGV[3]), 'token', token)
return {1, tonumber(ARGV[4]), ARGV[1]}
