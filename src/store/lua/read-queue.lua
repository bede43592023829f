-- Reads only.
-- Reads a page of a destination's queue: numbers of entries, in rising order.
-- arg.name   arg.after  the number after which the page begins   arg.count  how many at most
-- returns { 1 if the queue ends with the page, else 0; the numbers }
--- include destinations
local queue = key('queue:' .. arg.name)
local length = lengthOf(arg.name) or 0

-- Those read before are near the head: the first step is the smallest.
local function isRead(at)
  return at < length and (tonumber(redis.call('LINDEX', queue, at)) or 0) <= arg.after
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

local numbers = length > 0 and redis.call('LRANGE', queue, from, from + arg.count - 1) or {}
return { from + #numbers >= length and 1 or 0, numbers }
