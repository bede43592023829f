-- Reads only.
-- One page of the alarm history, merged from the indexes of the wanted groups and kinds. Each is read from
-- its sorted set and from its blocks, which append-alarms.lua packs.
-- KEYS[1] history   KEYS[2] groups that the location or device has alarms of
-- ARGV[1] prefix of the location's or device's indexes, ARGV[2] of places, ARGV[3] of states (in the slot of
-- the history)   ARGV[4] letters of the wanted states ('-' for raised), '' for all (change-alarm-state.lua)
-- ARGV[5] 'asc' or 'desc'   ARGV[6] after and ARGV[7] before this time, both exclusive, '' for none
-- ARGV[8] how many alarms at most, ARGV[9] how many to pass over at most
-- ARGV[10] last sequence that counts, '' for the last there is
-- ARGV[11] detection time and ARGV[12] member behind which the page starts, '' for the first page
-- ARGV[13] number of kinds, which follow; and after them the groups, or '*' for all
-- returns {last sequence that counts,
--          'end' when nothing follows, 'full' when something does, 'paused' when that is unknown,
--          [detection time, member] of the last alarm that was read or passed over, [] when none was,
--          [[detection time, member, [field, value, …], its states or ''], …],
--          [[place, its text], …]}
local indexes, placePrefix, statePrefix, wantedStates = ARGV[1], ARGV[2], ARGV[3], ARGV[4]
-- As in change-alarm-state.lua.
local STATES_PER_PIECE = 100
local ascending, lower, upper = ARGV[5] == 'asc', ARGV[6], ARGV[7]
local limit, passingLimit = tonumber(ARGV[8]), tonumber(ARGV[9])
local newest = redis.call('XREVRANGE', KEYS[1], '+', '-', 'COUNT', 1)[1]
local upTo = tonumber(ARGV[10]) or newest and tonumber(string.match(newest[1], '^%d+')) or 0
local startScore, startMember = ARGV[11], ARGV[12]
local lastKind = 13 + tonumber(ARGV[13])
local MIN_ROWS = 2
-- Blocks keep alarms that have expired until all in them have.
local oldestEntry = redis.call('XRANGE', KEYS[1], '-', '+', 'COUNT', 1)[1]
local oldest = oldestEntry and string.format('%012d', string.match(oldestEntry[1], '^%d+')) or ''

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

-- Creates a reader of what an index itself has between the bounds; nil when nothing is there.
local function indexReader(index)
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
  return { index = index, total = total, lowest = lowest, highest = highest, rows = {}, at = 1 }
end

local function advanceInIndex(one, count)
  if one.at > #one.rows then
    if one.lowest > one.highest then return false end
    if ascending then
      local to = math.min(one.highest, one.lowest + count - 1)
      one.rows = redis.call('ZRANGE', one.index, one.lowest, to, 'WITHSCORES')
      one.lowest = to + 1
    else
      local to = math.max(one.lowest, one.highest - count + 1)
      local last = one.total - 1
      one.rows = redis.call('ZREVRANGE', one.index, last - one.highest, last - to, 'WITHSCORES')
      one.highest = to - 1
    end
    one.at = 1
  end
  one.member, one.score = one.rows[one.at], tonumber(one.rows[one.at + 1])
  one.at = one.at + 2
  return true
end

-- Where reading of blocks starts: the alarms behind this time and member, in the order of the page.
local FIRST, LAST = '000000000000', '999999999999'
local startTime = tonumber(startScore)
if not startTime and ascending then
  startTime, startMember = tonumber(lower) or -math.huge, LAST
elseif not startTime then
  startTime, startMember = tonumber(upper) or math.huge, FIRST
end

-- Returns detection time and member.
local function alarmIn(block, number)
  local from = 25 * (number - 1) + 1
  return tonumber(string.sub(block, from + 12, from + 24)), string.sub(block, from, from + 11)
end

-- Creates a reader of the blocks of an index, from the one that holds the start; nil when it has none. It
-- stands before all alarms in them, for a page may end before that block has to be read.
local function blockReader(index)
  local blocks = index .. ':blocks'
  local found = redis.call('ZRANGEBYSCORE', blocks, startTime, '+inf', 'WITHSCORES', 'LIMIT', 0, 1)
  if not found[1] and not ascending then found = redis.call('ZREVRANGE', blocks, 0, 0, 'WITHSCORES') end
  if not found[1] then return nil end
  local one = { index = index, isUnread = true, name = found[1], lastTime = tonumber(found[2]) }
  one.score, one.member = startTime, FIRST
  if not ascending then one.score, one.member = math.min(startTime, one.lastTime), LAST end
  return one
end

-- Reads the reader's block, and finds the start in it by bisection; a later block starts at its end.
local function readBlock(one)
  one.block = redis.call('GET', one.index .. ':' .. one.name) or ''
  one.total = math.floor(#one.block / 25)
  local low, high = 0, one.total
  while low < high do
    local middle = math.floor((low + high) / 2)
    local time, member = alarmIn(one.block, middle + 1)
    local isPassed = member < startMember or ascending and member == startMember
    if time ~= startTime then isPassed = time < startTime end
    if isPassed then low = middle + 1 else high = middle end
  end
  one.at, one.isUnread = ascending and low + 1 or low, false
end

-- Reads the block behind the one that was read; false when there is none.
local function readNextBlock(one)
  local command, last = 'ZRANGEBYSCORE', '+inf'
  if not ascending then command, last = 'ZREVRANGEBYSCORE', '-inf' end
  local from = string.format('(%.0f', one.lastTime)
  local found = redis.call(command, one.index .. ':blocks', from, last, 'WITHSCORES', 'LIMIT', 0, 1)
  if not found[1] then return false end
  one.name, one.lastTime = found[1], tonumber(found[2])
  readBlock(one)
  return true
end

local lowest, highest = tonumber(lower) or -math.huge, tonumber(upper) or math.huge
local step = ascending and 1 or -1
local function advanceInBlocks(one)
  if one.isUnread then readBlock(one) end
  repeat
    while one.at >= 1 and one.at <= one.total do
      local time, member = alarmIn(one.block, one.at)
      one.at = one.at + step
      if time <= lowest or time >= highest then return false end
      if member >= oldest then
        one.score, one.member = time, member
        return true
      end
    end
  until not readNextBlock(one)
  return false
end

-- Moves the reader to its next alarm; false at its end.
local function advance(one, count)
  if one.name then return advanceInBlocks(one) end
  return advanceInIndex(one, count)
end

local function comesFirst(one, other)
  if one.score ~= other.score then return (one.score < other.score) == ascending end
  return (one.member < other.member) == ascending
end

local readers = {}
for _, group in ipairs(redis.call('SMEMBERS', KEYS[2])) do
  if isWanted(group) then
    for at = 14, lastKind do
      local index = indexes .. group .. ':' .. ARGV[at]
      readers[#readers + 1] = indexReader(index)
      readers[#readers + 1] = blockReader(index)
    end
  end
end
local rowsEach = math.max(MIN_ROWS, math.ceil(2 * (limit + 1) / #readers))

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
  if one.isUnread or advance(one, rowsEach) then heads[#heads + 1] = one end
end
for at = math.floor(#heads / 2), 1, -1 do siftDown(at) end

local function rowOf(member)
  local entry = string.format('%.0f-0', tonumber(member))
  return redis.call('XRANGE', KEYS[1], entry, entry)[1]
end

-- The states of an alarm as stored, '' for none; not those of another one that had its sequence.
local function statesOf(member, fields)
  local sequence = tonumber(member)
  local piece = statePrefix .. string.format('%.0f', math.floor(sequence / STATES_PER_PIECE))
  local stored = redis.call('HGET', piece, string.format('%.0f', sequence))
  if not stored then return '' end
  fields = fields or (rowOf(member) or { '', {} })[2]
  for at = 1, #fields, 2 do
    if fields[at] == 'i' and fields[at + 1] == string.sub(stored, 1, 16) then return stored end
  end
  return ''
end

local function hasWantedState(member)
  if wantedStates == '' then return true end
  local states = statesOf(member)
  local letter = states == '' and '-' or string.sub(states, 17, 17)
  return string.find(wantedStates, letter, 1, true) ~= nil
end

local page, places, isKnown = {}, {}, {}
local function add(score, member)
  local row = rowOf(member)
  if not row then return end
  local fields = row[2]
  page[#page + 1] = { string.format('%.0f', score), member, fields, statesOf(member, fields) }
  for at = 1, #fields, 2 do
    local place = fields[at] == 'p' and fields[at + 1]
    if place and not isKnown[place] then
      isKnown[place] = true
      local text = redis.call('HGET', placePrefix .. place, 't')
      if text then places[#places + 1] = { place, text } end
    end
  end
end

-- Alarms recorded too late to count, or in other states, are passed over here and not by the readers, so that
-- the next page always starts after the last alarm that was read or passed over.
local ending, reached, passed = 'end', {}, 0
while #heads > 0 do
  local first = heads[1]
  if not first.isUnread then
    local counts = tonumber(first.member) <= upTo and hasWantedState(first.member)
    if counts and #page == limit then ending = 'full' break end
    if not counts and passed == passingLimit then ending = 'paused' break end
    if counts then add(first.score, first.member) else passed = passed + 1 end
    reached = { string.format('%.0f', first.score), first.member }
  end
  if not advance(first, rowsEach) then
    heads[1] = heads[#heads]
    heads[#heads] = nil
  end
  siftDown(1)
end
return { string.format('%.0f', upTo), ending, reached, page, places }
