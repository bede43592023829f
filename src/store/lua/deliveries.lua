-- Reads only.
-- Finds what became of an entry for each destination that has or had it in its queue.
-- arg.number
-- returns { the names of the destinations that have it in their queue }, and the proofs of a hundred entries or ''
-- (shared/proofs.lua)
--- include destinations
local queued = {}
for name, queue in pairs(filledQueues()) do
  if hasQueued(queue, arg.number) then queued[#queued + 1] = name end
end
local piece = string.format('%.0f', math.floor(arg.number / 100))
return { queued, redis.call('GET', key('proofs:' .. piece)) or '' }
