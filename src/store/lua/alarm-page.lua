-- One page of the alarm history, merged from the indexes of the wanted groups and kinds.
-- KEYS[1] history   KEYS[2] groups that the location or device has alarms of
-- ARGV[1] prefix of the location's or device's indexes, ARGV[2] of places (in the slot of the history)
-- ARGV[3] 'asc' or 'desc'   ARGV[4] after and ARGV[5] before this time, both exclusive, '' for none
-- ARGV[6] how many alarms at most, ARGV[7] how many to skip at most
-- ARGV[8] last sequence that counts, '' for the last there is
-- ARGV[9] detection time and ARGV[10] member behind which the page starts, '' for the first page
-- ARGV[11] number of kinds, which follow; and after them the groups, or '*' for all
-- returns {last sequence that counts,
--          'end' when nothing follows, 'full' when something does, 'paused' when that is unknown,
--          [detection time, member] of the last alarm that was read or skipped, [] when none was,
--          [[detection time, member, [field, value, …]], …],
--          [[place, its text], …]}
local indexes, placePrefix = ARGV[1], ARGV[2]
local ascending, lower, upper = ARGV[3] == 'asc', ARGV[4], ARGV[5]
local limit, passingLimit = tonumber(ARGV[6]), tonumber(ARGV[7])
local newest = redis.call('XREVRANGE', KEYS[1], '+', '-', 'COUNT', 1)[1]
local upTo = tonumber(ARGV[8]) or newest and tonumber(string.match(newest[1], '^%d+')) or 0
local startScore, startMember = ARGV[9], ARGV[10]
local lastKind = 11 + tonumber(ARGV[11])
local MIN_BLOCK = 2

local function isWanted(group)
  if ARGV[lastKind + 1] == '*' then return true end
  for at = lastKind + 1, #ARGV do
    if ARGV[at] == group then return true end
  end
  return false
end

-- Finds the rank at which a page starts in an index that may not hold the last page's alarm: by bisection
-- among the alarms with its detection time, so that hundreds of them cost no more.
local function startRank(index)
  local low = redis.call('ZCOUNT', index, '-inf', '(' .. startScore)
  local high = redis.call('ZCOUNT', index, '-inf', startScore)
  while low < high do
    local middle = math.floor((low + high) / 2)
    local member = redis.call('ZRANGE', index, middle, middle)[1]
    local isPassed
    if ascending then isPassed = member <= startMember else isPassed = member < startMember end
    if isPassed then low = middle + 1 else high = middle end
  end
  return low
end

-- Creates a reader of an index between the bounds; nil when nothing is there.
local function reader(index)
  local total = redis.call('ZCARD', index)
  if total == 0 then return nil end
  -- Both bounds are exclusive: the lowest rank is the number of alarms up to the lower bound.
  local lowest = lower == '' and 0 or redis.call('ZCOUNT', index, '-inf', lower)
  local highest = (upper == '' and total or redis.call('ZCOUNT', index, '-inf', '(' .. upper)) - 1
  if startScore ~= '' then
    local start = startRank(index)
    if ascending then lowest = math.max(lowest, start) else highest = math.min(highest, start - 1) end
  end
  if lowest > highest then return nil end
  return { index = index, total = total, lowest = lowest, highest = highest, block = {}, at = 1 }
end

-- Moves the reader to its next alarm; false at its end.
local function advance(one, blockSize)
  if one.at > #one.block then
    if one.lowest > one.highest then return false end
    if ascending then
      local to = math.min(one.highest, one.lowest + blockSize - 1)
      one.block = redis.call('ZRANGE', one.index, one.lowest, to, 'WITHSCORES')
      one.lowest = to + 1
    else
      local to = math.max(one.lowest, one.highest - blockSize + 1)
      local last = one.total - 1
      one.block = redis.call('ZREVRANGE', one.index, last - one.highest, last - to, 'WITHSCORES')
      one.highest = to - 1
    end
    one.at = 1
  end
  one.member, one.score = one.block[one.at], tonumber(one.block[one.at + 1])
  one.at = one.at + 2
  return true
end

local function comesFirst(one, other)
  if one.score ~= other.score then return (one.score < other.score) == ascending end
  return (one.member < other.member) == ascending
end

local readers = {}
for _, group in ipairs(redis.call('HKEYS', KEYS[2])) do
  if isWanted(group) then
    for at = 12, lastKind do readers[#readers + 1] = reader(indexes .. group .. ':' .. ARGV[at]) end
  end
end
local blockSize = math.max(MIN_BLOCK, math.ceil(2 * (limit + 1) / #readers))

-- The readers by their next alarms, a binary heap: with many groups there are hundreds of them.
local heads = {}
local function siftDown(at)
  while 2 * at <= #heads do
    local child = 2 * at
    if heads[child + 1] and comesFirst(heads[child + 1], heads[child]) then child = child + 1 end
    if not comesFirst(heads[child], heads[at]) then return end
    heads[at], heads[child] = heads[child], heads[at]
    at = child
  end
end
for _, one in ipairs(readers) do
  if advance(one, blockSize) then heads[#heads + 1] = one end
end
for at = math.floor(#heads / 2), 1, -1 do siftDown(at) end

local page, places, isKnown = {}, {}, {}
local function add(score, member)
  local entry = string.format('%.0f-0', tonumber(member))
  local row = redis.call('XRANGE', KEYS[1], entry, entry)[1]
  if not row then return end
  local fields = row[2]
  page[#page + 1] = { string.format('%.0f', score), member, fields }
  for at = 1, #fields, 2 do
    local place = fields[at] == 'p' and fields[at + 1]
    if place and not isKnown[place] then
      isKnown[place] = true
      local text = redis.call('HGET', placePrefix .. place, 't')
      if text then places[#places + 1] = { place, text } end
    end
  end
end

-- Alarms recorded too late to count are skipped here and not by the readers, so that the next page always
-- starts after the last alarm that was read or skipped.
local ending, reached, passed = 'end', {}, 0
while #heads > 0 do
  local first = heads[1]
  local counts = tonumber(first.member) <= upTo
  if counts and #page == limit then ending = 'full' break end
  if not counts and passed == passingLimit then ending = 'paused' break end
  if counts then add(first.score, first.member) else passed = passed + 1 end
  reached = { string.format('%.0f', first.score), first.member }
  if not advance(first, blockSize) then
    heads[1] = heads[#heads]
    heads[#heads] = nil
  end
  siftDown(1)
end
return { string.format('%.0f', upTo), ending, reached, page, places }
