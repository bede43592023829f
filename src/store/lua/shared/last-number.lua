-- The last number that a stream has had, even if its entry is gone; 0 for none.
local function lastOf(stream)
  if redis.call('EXISTS', stream) == 0 then return 0 end
  local info = redis.call('XINFO', 'STREAM', stream)
  for at = 1, #info, 2 do
    if info[at] == 'last-generated-id' then return tonumber(string.match(info[at + 1], '^%d+')) end
  end
end

-- The last number of the alarms; and, if the store has lost alarms that the gateway knows, the error that the script
-- returns before writing anything: those must be stored again first (docs/reference/contract.md, 4.3).
-- A lost, set back or overwritten counter must neither stop the recording nor give a number twice: the stream knows the
-- last number even if its entry is gone.
local function lastAlarm(counter, history, known)
  -- Fails for a key of another type, before anything is written.
  redis.call('XLEN', history)
  local last = tonumber(redis.pcall('GET', counter)) or 0
  -- Otherwise the counter is right, and the stream need not be asked, which costs a fifth of a batch.
  if last == 0 or last ~= tonumber(known) then last = math.max(last, lastOf(history)) end
  if last >= tonumber(known) then return last end
  return last, redis.error_reply(string.format('WENTBACK %.0f', last))
end
