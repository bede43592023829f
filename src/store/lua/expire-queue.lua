-- Takes entries off a destination's queue that are too old, oldest first. One whose record is gone, or has no time, is
-- dropped as lost.
-- arg.name   arg.beforeMs  an entry received before this is too old   arg.count  how many to take at most
-- arg.atMs   the time, as text
-- returns { how many were taken, how many of these were lost, how many stay }; {} if the destination is gone
--- include history
--- include destinations
--- include proofs
local queue, session = key('queue:' .. arg.name), key('session:' .. arg.name)
if not (hasAccount(arg.name, 'expired', 'dropped', 'lost') and lengthOf(arg.name)) then return {} end
local taken, expired, lost = 0, {}, 0
while taken < arg.count do
  local number = redis.call('LINDEX', queue, 0)
  if not number then break end
  local entry = string.match(number, '^%d+$') and entryAt(number)
  local atMs = entry and tonumber(entry.t)
  if atMs and atMs >= arg.beforeMs then break end
  redis.call('LPOP', queue)
  taken = taken + 1
  if atMs then expired[#expired + 1] = number else lost = lost + 1 end
end
if #expired > 0 then redis.call('HINCRBY', session, 'expired', #expired) end
if lost > 0 then
  redis.call('HINCRBY', session, 'dropped', lost)
  redis.call('HINCRBY', session, 'lost', lost)
end
-- What is lost needs no proof: nobody can ask for it.
noteOutcome(arg.name, 'e', arg.atMs, expired)
return { taken, lost, lengthOf(arg.name) }
