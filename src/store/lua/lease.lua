-- Takes, renews or gives up the lease of a site.
-- KEYS[1]  lease: a hash of holder, epoch, untilMs by the store's clock, and token (fence.ts)
-- ARGV[1]  'take', 'renew' or 'release'   ARGV[2] holder   ARGV[3] milliseconds until it ends unless renewed
-- ARGV[4]  the holder's epoch; to take it, the greatest that it knows
-- ARGV[5]  to take it: a renewal that the holder has known for the full length of the lease, '' for none
-- ARGV[6]  to take it: '1' if it may be taken once ended by the store's clock, which goes on while nobody can ask
-- returns  1 while ARGV[2] holds it, else 0; its epoch; its holder, '' for none; its last renewal
local action, wanted, lengthMs, known = ARGV[1], ARGV[2], ARGV[3], tonumber(ARGV[4])
local lease = redis.call('HMGET', KEYS[1], 'holder', 'epoch', 'untilMs', 'token')
local holder, epoch, untilMs = lease[1] or '', tonumber(lease[2]) or 0, lease[3] or '0'
local time = redis.call('TIME')
local nowMs = time[1] * 1000 + math.floor(time[2] / 1000)
local hasEnded = tonumber(untilMs) <= nowMs
local renewal = epoch .. ' ' .. untilMs
local isOurs = lease[4] == known .. ' ' .. wanted

local function write(newEpoch, newHolder, newUntilMs, token)
  -- PERSIST changes nothing here and needs no memory. A store with full memory takes a script's later writes once it
  -- has taken the first, and so it still serves its gateways (docs/reference/guarantees.md).
  redis.call('PERSIST', KEYS[1])
  redis.call('HSET', KEYS[1], 'holder', newHolder, 'epoch', newEpoch,
    'untilMs', string.format('%.0f', newUntilMs), 'token', token)
end

if action == 'release' then
  -- Its epoch stays, because it must only rise.
  if isOurs then write(epoch, '', 0, '') end
  return { 0, epoch, '', '' }
end
if action == 'renew' then
  -- Also in a store that was emptied, or went back to before it was taken.
  if not isOurs and (epoch >= known or not hasEnded) then return { 0, epoch, holder, renewal } end
  epoch = known
-- Its own holder takes it again: the answer to the first question may have been lost.
elseif holder == '' or holder == wanted or renewal == ARGV[5] or (ARGV[6] == '1' and hasEnded) then
  epoch = math.max(epoch, known) + 1
else
  return { 0, epoch, holder, renewal }
end
write(epoch, wanted, nowMs + lengthMs, epoch .. ' ' .. wanted)
return { 1, epoch, wanted, '' }
