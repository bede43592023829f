-- Reads only.
-- Reads a page of a destination's queue, with the entries of the history that the caller has not in memory.
-- KEYS[1] history   KEYS[2] queue
-- ARGV[1] the item after which the page begins   ARGV[2] how many items at most
-- ARGV[3] the number from which on the caller has the entries   ARGV[4] how many bytes of entries end the page
-- returns { 1 when the queue ends with the page, for each item the item, and the fields and values of its entry, none when
--         the caller has it or it is gone }
local history, queue, after, count = KEYS[1], KEYS[2], tonumber(ARGV[1]), tonumber(ARGV[2])
local inMemoryFrom, maxBytes = tonumber(ARGV[3]), tonumber(ARGV[4])

-- Items rise along the queue, and what was read before is near its head: the first step is the smallest.
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
local function numberOf(item)
  return math.floor((tonumber(item) or 0) / 65536)
end

-- Entries that follow each other are read as one, a bounded number at a time.
local AT_ONCE = 50
local entries, bytes, at = {}, 0, 1
while at <= #items and numberOf(items[at]) < inMemoryFrom and bytes < maxBytes do
  local first, last = numberOf(items[at]), at
  while items[last + 1] and last - at < AT_ONCE and numberOf(items[last + 1]) == first + last + 1 - at do last = last + 1 end
  local rows = redis.call('XRANGE', history, string.format('%.0f', first), string.format('%.0f', first + last - at))
  for _, row in ipairs(rows) do
    entries[tonumber(string.match(row[1], '^%d+'))] = row[2]
    for _, value in ipairs(row[2]) do bytes = bytes + #value end
  end
  at = last + 1
end
-- The rest is in memory, or for the next page.
if at <= #items and numberOf(items[at]) >= inMemoryFrom then at = #items + 1 end
local results = { from + at - 1 >= length and 1 or 0 }
for number = 1, at - 1 do results[number + 1] = { items[number], entries[numberOf(items[number])] or {} } end
return results
