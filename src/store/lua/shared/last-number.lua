-- The last number that a stream has had, 0 for none; also when its entry is gone.
local function lastOf(stream)
  if redis.call('EXISTS', stream) == 0 then return 0 end
  local info = redis.call('XINFO', 'STREAM', stream)
  for at = 1, #info, 2 do
    if info[at] == 'last-generated-id' then return tonumber(string.match(info[at + 1], '^%d+')) end
  end
end

-- The last number of the alarms, and what the script answers, before it has written anything, when the store has lost
-- alarms that the gateway knows of: those are to be stored again first (docs/reference/contract.md, 4.3).
-- A counter that was lost, set back or overwritten must not stop the recording, nor may a number be given twice: the
-- stream knows the last one, also when its entry is gone.
local function lastAlarm(counter, history, known)
  local last = math.max(tonumber(redis.pcall('GET', counter)) or 0, lastOf(history))
  if last >= tonumber(known) then return last end
  return last, redis.error_reply(string.format('WENTBACK %.0f', last))
end
