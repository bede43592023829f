-- One page of the alarm history, merged from the indexes of the wanted kinds.
-- KEYS[1] history   KEYS[2] sequence counter   KEYS[3…] indexes, one for each kind
-- ARGV[1] 'asc' or 'desc'   ARGV[2] after and ARGV[3] before this time, both exclusive, '' for none
-- ARGV[4] how many alarms at most
-- ARGV[5] last sequence that counts, '' for the last there is
-- ARGV[6] detection time and ARGV[7] member behind which the page starts, '' for the first page
-- returns {last sequence that counts, [[detection time, member, [field, value, …]], …]}; one more
--         than asked for when another page follows
local ascending = ARGV[1] == 'asc'
local lower, upper, limit = ARGV[2], ARGV[3], tonumber(ARGV[4])
local upTo = tonumber(ARGV[5]) or tonumber(redis.call('GET', KEYS[2]) or '0')
local startScore, startMember = ARGV[6], ARGV[7]

-- The rank at which a page starts in an index that may not hold the alarm of the page before: by
-- bisection among those with its detection time, so that hundreds of them cost no more.
local function startRank(index)
  local before = redis.call('ZCOUNT', index, '-inf', '(' .. startScore)
  local low, high = before, redis.call('ZCOUNT', index, '-inf', startScore)
  while low < high do
    local middle = math.floor((low + high) / 2)
    local member = redis.call('ZRANGE', index, middle, middle)[1]
    local isPassed
    if ascending then isPassed = member <= startMember else isPassed = member < startMember end
    if isPassed then low = middle + 1 else high = middle end
  end
  return low
end

-- Reads an index in its order, a block at a time, leaving out what was recorded too late to count.
local function reader(index)
  local total = redis.call('ZCARD', index)
  -- Both bounds are exclusive: the lowest rank is the number of alarms up to the lower bound.
  local lowestRank = lower == '' and 0 or redis.call('ZCOUNT', index, '-inf', lower)
  local highestRank = (upper == '' and total or redis.call('ZCOUNT', index, '-inf', '(' .. upper)) - 1
  if startScore ~= '' then
    local start = startRank(index)
    if ascending then lowestRank = math.max(lowestRank, start)
    else highestRank = math.min(highestRank, start - 1) end
  end
  local block, at = {}, 1
  return function()
    while true do
      if at > #block then
        if lowestRank > highestRank then return nil end
        local size = limit + 1
        if ascending then
          block = redis.call('ZRANGE', index, lowestRank, math.min(highestRank, lowestRank + size - 1), 'WITHSCORES')
          lowestRank = lowestRank + size
        else
          local from = math.max(lowestRank, highestRank - size + 1)
          block = redis.call('ZREVRANGE', index, total - 1 - highestRank, total - 1 - from, 'WITHSCORES')
          highestRank = from - 1
        end
        at = 1
      end
      local member, score = block[at], block[at + 1]
      at = at + 2
      if tonumber(member) <= upTo then return { tonumber(score), member } end
    end
  end
end

local function comesFirst(one, other)
  if one[1] ~= other[1] then return (one[1] < other[1]) == ascending end
  return (one[2] < other[2]) == ascending
end

local readers, heads = {}, {}
for number = 3, #KEYS do
  readers[number] = reader(KEYS[number])
  heads[number] = readers[number]()
end
local page = {}
while #page <= limit do
  local best
  for number = 3, #KEYS do
    if heads[number] and (not best or comesFirst(heads[number], heads[best])) then best = number end
  end
  if not best then break end
  local score, member = heads[best][1], heads[best][2]
  local entry = string.format('%.0f-0', tonumber(member))
  local found = redis.call('XRANGE', KEYS[1], entry, entry)[1]
  if found then page[#page + 1] = { string.format('%.0f', score), member, found[2] } end
  heads[best] = readers[best]()
end
return { string.format('%.0f', upTo), page }
