-- Takes, renews or gives up the lease of a site.
-- arg.action     'take', 'renew' or 'release'   arg.holder   arg.lengthMs  until it ends unless renewed
-- arg.epoch      the holder's; to take it, the greatest that it knows
-- arg.renewal    to take it: a renewal that the holder has known for the full length of the lease, '' for none
-- arg.takesEnded to take it: whether it may be taken once ended by the store's clock, which goes on while nobody can ask
-- returns 1 while arg.holder holds it, else 0; its epoch; its holder, '' for none; its last renewal
local action, wanted, known = arg.action, arg.holder, arg.epoch
local name = key('lease')
local lease = redis.call('HMGET', name, 'holder', 'epoch', 'untilMs', 'token')
local holder, epoch, untilMs = lease[1] or '', tonumber(lease[2]) or 0, lease[3] or '0'
local time = redis.call('TIME')
local nowMs = time[1] * 1000 + math.floor(time[2] / 1000)
local hasEnded = tonumber(untilMs) <= nowMs
local renewal = epoch .. ' ' .. untilMs
local isOurs = lease[4] == known .. ' ' .. wanted

local function write(newEpoch, newHolder, newUntilMs, token)
  -- PERSIST changes nothing here and needs no memory. A store with full memory takes a script's later writes once it
  -- has taken the first, and so it still serves its gateways (docs/reference/guarantees.md).
  redis.call('PERSIST', name)
  redis.call('HSET', name, 'holder', newHolder, 'epoch', newEpoch,
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
elseif holder == '' or holder == wanted or renewal == arg.renewal or (arg.takesEnded and hasEnded) then
  epoch = math.max(epoch, known) + 1
else
  return { 0, epoch, holder, renewal }
end
write(epoch, wanted, nowMs + arg.lengthMs, epoch .. ' ' .. wanted)
return { 1, epoch, wanted, '' }
