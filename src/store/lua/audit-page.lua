-- One page of the audit trail, merged from the indexes of the wanted actions.
-- KEYS[1] counter of the records   KEYS[2…] indexes, one for each action (apply-change.lua)
-- ARGV[1] 'asc' or 'desc'   ARGV[2] after and ARGV[3] before this time, both exclusive, '' for none
-- ARGV[4] how many records at most, ARGV[5] how many to look at for them
-- ARGV[6] last number that counts, '' for the last there is
-- ARGV[7] time and ARGV[8] number, 12 digits, behind which the page starts, '' for the first page
-- ARGV[9] location, ARGV[10] actor and ARGV[11] resource that they must be of, '' for any
-- returns {last number that counts, [time, member, …], position}: time and number of the record that
--         was looked at last, or none when there are no more to look at
local ascending = ARGV[1] == 'asc'
local lower, upper, limit, maxSeen = ARGV[2], ARGV[3], tonumber(ARGV[4]), tonumber(ARGV[5])
local upTo = tonumber(ARGV[6]) or tonumber(redis.call('GET', KEYS[1]) or '0')
local startTime, startNumber = ARGV[7], ARGV[8]
local location, actor, resource = ARGV[9], ARGV[10], ARGV[11]
local BLOCK = 50
local DIGITS = 12

local function numberOf(member) return string.sub(member, 1, DIGITS) end

-- Counts the records of an index before the start, in the order of time and number: by bisection among
-- those with its time, of which there may be hundreds.
local function rankOfStart(index)
  local low = redis.call('ZCOUNT', index, '-inf', '(' .. startTime)
  local high = redis.call('ZCOUNT', index, '-inf', startTime)
  while low < high do
    local middle = math.floor((low + high) / 2)
    local number = numberOf(redis.call('ZRANGE', index, middle, middle)[1])
    if number < startNumber or (ascending and number == startNumber) then low = middle + 1
    else high = middle end
  end
  return low
end

-- Reads an index in the wanted order, a block at a time, without records written too late.
local function reader(index)
  local first = lower == '' and 0 or redis.call('ZCOUNT', index, '-inf', lower)
  local last = (upper == '' and redis.call('ZCARD', index) or redis.call('ZCOUNT', index, '-inf', '(' .. upper)) - 1
  if startTime ~= '' then
    if ascending then first = math.max(first, rankOfStart(index))
    else last = math.min(last, rankOfStart(index) - 1) end
  end
  local block, at, step, left = {}, 1, ascending and 2 or -2, 0
  return function()
    while true do
      if left == 0 then
        if first > last then return nil end
        local from = ascending and first or math.max(first, last - BLOCK + 1)
        local to = ascending and math.min(last, first + BLOCK - 1) or last
        block = redis.call('ZRANGE', index, from, to, 'WITHSCORES')
        if ascending then first = to + 1 else last = from - 1 end
        left, at = #block / 2, ascending and 1 or #block - 1
      end
      local member, time = block[at], tonumber(block[at + 1])
      at, left = at + step, left - 1
      if tonumber(numberOf(member)) <= upTo then return { time, member } end
    end
  end
end

local function comesFirst(one, other)
  if one[1] ~= other[1] then return (one[1] < other[1]) == ascending end
  return (one[2] < other[2]) == ascending
end

-- Footage URLs belong to every device whose recordings they lead to: `<deviceId>/…` in the keys.
local function isOf(text)
  return text.resourceId == resource
    or (type(text.details.keys) == 'string' and string.find(text.details.keys, '"' .. resource .. '/', 1, true))
end

-- A move between locations belongs to both. Decoding takes time, so records without the ids in their text
-- are skipped.
local function isWanted(member)
  for _, id in ipairs({ location, actor, resource }) do
    if id ~= '' and not string.find(member, id, DIGITS, true) then return false end
  end
  if location == '' and actor == '' and resource == '' then return true end
  local text = cjson.decode(string.sub(member, DIGITS + 1))[1]
  return (location == '' or text.locationId == location or text.details.targetLocationId == location)
    and (actor == '' or text.actor.id == actor)
    and (resource == '' or isOf(text))
end

-- The indexes with records left: { next record, reader of the one after it }.
local open = {}
for number = 2, #KEYS do
  local read = reader(KEYS[number])
  local head = read()
  if head then open[#open + 1] = { head, read } end
end
local found, seen, position = {}, 0, {}
while true do
  local best
  for number, one in ipairs(open) do
    if not best or comesFirst(one[1], open[best][1]) then best = number end
  end
  if not best then
    position = {}
    break
  end
  if seen == maxSeen or #found == 2 * limit then break end
  local head, read = unpack(open[best])
  local time, member = string.format('%.0f', head[1]), head[2]
  seen, position = seen + 1, { time, numberOf(member) }
  if isWanted(member) then
    found[#found + 1] = time
    found[#found + 1] = member
  end
  open[best][1] = read()
  if not open[best][1] then table.remove(open, best) end
end
return { string.format('%.0f', upTo), found, position }
