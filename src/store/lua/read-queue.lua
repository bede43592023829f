-- Reads only.
-- Reads a page of a destination's queue.
-- KEYS[1] queue   KEYS[2] sequence counter   KEYS[3] history
-- ARGV[1] the item after which the page begins   ARGV[2] how many items at most
-- ARGV[3] the newest number that the gateway knows
-- returns { 1 if the queue ends with the page, else 0; the items }, or an error `WENTBACK n`
--- include last-number
local queue, after, count = KEYS[1], tonumber(ARGV[1]), tonumber(ARGV[2])
local _, wentBack = lastAlarm(KEYS[2], KEYS[3], ARGV[3])
if wentBack then return wentBack end

-- Items are in rising order, and those read before are near the head: the first step is the smallest.
local length = redis.call('LLEN', queue)
local function isRead(at)
  return at < length and (tonumber(redis.call('LINDEX', queue, at)) or 0) <= after
end
local from, step = 0, 1
while isRead(from + step - 1) do
  from = from + step
  step = step * 2
end
while step > 1 do
  step = step / 2
  if isRead(from + step - 1) then from = from + step end
end

local items = redis.call('LRANGE', queue, from, from + count - 1)
return { from + #items >= length and 1 or 0, unpack(items) }
