-- Reads only.
-- Lists alarms of several indexes as one, by score and number.
-- arg.indexes      names of sorted sets, whose members are numbers of fixed width
-- arg.isAscending  arg.afterMs, arg.beforeMs  exclusive bounds of the score, '' for none
-- arg.position     { score, member } of the last alarm before the page, false to begin   arg.count  how many at most
-- arg.upTo         the highest number, 0 for any: those above are passed over
-- returns { the newest number of the history, for each alarm: { its number, its score, names and values of its record,
--         { } if it is gone or above, its states or '' } }
--- include history
local READ_AT_ONCE = 64
local isAscending, position = arg.isAscending, arg.position
-- As append.lua counts: a lost or set back counter must not hide what is there.
local newest = math.max(tonumber(redis.pcall('GET', counter)) or 0, lastOf(history))

-- How many members of an index come before the position, or before a bound.
local function rankOf(index)
  if not position then
    if isAscending then return arg.afterMs == '' and 0 or redis.call('ZCOUNT', index, '-inf', arg.afterMs) end
    return redis.call('ZCOUNT', index, '-inf', arg.beforeMs == '' and '+inf' or '(' .. arg.beforeMs)
  end
  local score, member = position[1], position[2]
  local low, high = redis.call('ZCOUNT', index, '-inf', '(' .. score), redis.call('ZCOUNT', index, '-inf', score)
  while low < high do
    local middle = math.floor((low + high) / 2)
    local found = redis.call('ZRANGE', index, middle, middle)[1]
    if found < member or (isAscending and found == member) then low = middle + 1 else high = middle end
  end
  return low
end

local function isBeyond(score)
  if isAscending then return arg.beforeMs ~= '' and tonumber(score) >= tonumber(arg.beforeMs) end
  return arg.afterMs ~= '' and tonumber(score) <= tonumber(arg.afterMs)
end

-- Reads an index row by row.
local function reader(index)
  local rank, rows, at = rankOf(index), {}, 1
  local one = {}
  function one.next()
    if at > #rows then
      local from = isAscending and rank or math.max(0, rank - READ_AT_ONCE)
      local to = isAscending and rank + READ_AT_ONCE - 1 or rank - 1
      rows = to < from and {} or redis.call('ZRANGE', index, from, to, 'WITHSCORES')
      rank = isAscending and rank + READ_AT_ONCE or from
      at = 1
    end
    local row = isAscending and at or #rows - at
    one.member, one.score = rows[row], rows[row + 1]
    at = at + 2
    if one.member and isBeyond(one.score) then one.member = nil end
    if one.member then one.value = tonumber(one.score) end
  end
  one.next()
  return one
end

local function isFirst(one, other)
  if not other then return true end
  if one.value ~= other.value then return (one.value < other.value) == isAscending end
  return (one.member < other.member) == isAscending
end

local readers, listed = {}, {}
for at, name in ipairs(arg.indexes) do readers[at] = reader(key(name)) end
while #listed < arg.count do
  local first
  for _, one in ipairs(readers) do
    if one.member and isFirst(one, first) then first = one end
  end
  if not first then break end
  listed[#listed + 1] = { first.member, first.score }
  first.next()
end

local alarms = {}
for at, row in ipairs(listed) do
  local number = text(tonumber(row[1]))
  local isListed = arg.upTo == 0 or tonumber(number) <= arg.upTo
  local fields, id, device = isListed and fieldsAt(number) or {}
  for name = 1, #fields, 2 do
    if fields[name] == 'i' then id = fields[name + 1] end
    if fields[name] == 'c' then device = deviceIn(fields[name + 1]) end
  end
  alarms[at] = { number, row[2], fields, id and device and statesOf(id, device) or '' }
end
return { newest, alarms }
