-- Removes the alarms of a device at a location that were detected before a time, with their states, and what the gateway
-- itself has noted of the device before that time. What is in a queue stays. Looks at a bounded number of entries at a
-- time, oldest first.
-- arg.device   arg.location   arg.beforeMs  milliseconds since 1970
-- arg.from     the number of the first entry to look at   arg.count  how many to look at
-- returns { the number to go on from, 0 at the end; how many alarms were removed; their extras, which name recordings }
--- include history
--- include removal
--- include destinations
local rows = redis.call('XRANGE', history, text(arg.from), '+', 'COUNT', arg.count)
local removed, extras = 0, {}
local queues = filledQueues()

local function isQueued(number)
  for _, queue in pairs(queues) do
    if hasQueued(queue, number) then return true end
  end
  return false
end

local function isErased(entry)
  if entry.k then return tonumber(entry.r) - tonumber(entry.a) < arg.beforeMs end
  -- A state goes with its alarm, which comes before it.
  if entry.j then
    local piece, field = placeOf(entry.j)
    return redis.call('HEXISTS', key('ids:' .. piece), field) == 0
  end
  return (tonumber(entry.r) or 0) < arg.beforeMs
end

for _, row in ipairs(rows) do
  local entry = valuesOf(row)
  local isOfDevice = deviceIn(entry.c) == arg.device and locationIn(entry.c) == arg.location
  if isOfDevice and isErased(entry) and not isQueued(numberOf(row)) then
    removeEntry(row)
    if entry.k then
      removed = removed + 1
      if entry.x ~= '' then extras[#extras + 1] = entry.x end
    end
  end
end
if #rows < arg.count then return { 0, removed, extras } end
return { numberOf(rows[#rows]) + 1, removed, extras }
