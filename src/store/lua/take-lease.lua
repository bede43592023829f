-- Takes the lease if nobody has it.
-- KEYS[1]  lease: a hash of holder, place, epoch, untilMs by the store's clock, and token (fence.ts)
-- ARGV[1]  holder   ARGV[2] its place, '' for none: a holder at the same place is known to have ended
-- ARGV[3]  milliseconds until it ends unless renewed
-- ARGV[4]  the greatest epoch that the holder knows
-- ARGV[5]  a renewal that the holder has known for the full length of the lease, '' for none
-- ARGV[6]  '1' to take a lease ended by the store's clock, which goes on while the store does not answer
-- returns  1 if taken, else 0; its epoch; its holder; its last renewal
local lease = redis.call('HMGET', KEYS[1], 'holder', 'place', 'epoch', 'untilMs')
local holder, place, epoch, untilMs = lease[1] or '', lease[2], tonumber(lease[3]) or 0, lease[4] or '0'
local time = redis.call('TIME')
local nowMs = time[1] * 1000 + math.floor(time[2] / 1000)
local renewal = epoch .. ' ' .. untilMs
local hasEnded = holder == '' or renewal == ARGV[5] or ARGV[6] == '1' and tonumber(untilMs) <= nowMs
if not hasEnded and (ARGV[2] == '' or ARGV[2] ~= place) then return {0, epoch, holder, renewal} end
epoch = math.max(epoch, tonumber(ARGV[4])) + 1
-- PERSIST changes nothing here and needs no memory. A store with full memory takes a script's later writes once it
-- has taken the first, and so it still serves its gateways (docs/reference/contract.md, 4.4).
redis.call('PERSIST', KEYS[1])
redis.call('HSET', KEYS[1], 'holder', ARGV[1], 'place', ARGV[2], 'epoch', epoch,
  'untilMs', string.format('%.0f', nowMs + ARGV[3]), 'token', epoch .. ' ' .. ARGV[1])
return {1, epoch, ARGV[1], ''}
