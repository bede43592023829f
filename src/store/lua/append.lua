-- Appends a batch of entries to the history, each once: record, indexes, id, and its number on the queue of every
-- destination, in one atomic write (contract 4.1 and 4.2). It knows no kinds of entries.
-- arg.known         the newest number that the gateway knows to be stored   arg.above  the newest that it has ever seen
-- arg.destinations  names   arg.sets  sets of them, as numbers of names
-- arg.places        texts of places   arg.indexes  lists of names of sorted sets
-- arg.rows          for each entry
--   1 which of the sets gets it   2 which of the places it has, 0 for none
--   3 which of the lists of indexes list it, 0 for none, and 4 their score
--   5 its id, as bytes, 6 piece and 7 field of the id (history/entries.ts), 8 its device, '' for none
--   9 names and values of its record, besides `i`, the id, and `c`, the place
--   10 receipt, or false: packet identifier, digest of the payload, whether the packet has DUP set, time of receipt,
--      current and former slot of time
--   11 condition, or false   12 further commands, or false   13 records of the audit trail, or false
-- returns { for each entry its number: negative if it was recorded before, 0 if its condition does not hold; for each
--         destination the length of its queue }, or { {}, {}, the destinations that cannot be pushed to }, or an error
--         `WENTBACK n`; the last two with nothing written
--- include history
--- include audit
--- include commands
--- include destinations
local RECEIPTS_KEPT_MS = 300000
local rows, ids = arg.rows, key('ids:')

-- Fails for a key of another type, before anything is written.
redis.call('XLEN', history)
local last = tonumber(redis.pcall('GET', counter)) or 0
-- Otherwise the counter is right, and the stream need not be asked, which costs a fifth of a batch. A lost, set back or
-- overwritten counter must neither stop the recording nor give a number twice.
if last == 0 or last ~= arg.known then last = math.max(last, lastOf(history)) end
if last < arg.known then return redis.error_reply('WENTBACK ' .. text(last)) end
last = math.max(last, arg.above)

local unusable = {}
for _, name in ipairs(arg.destinations) do
  if not (hasAccount(name, 'accepted') and lengthOf(name)) then unusable[#unusable + 1] = name end
end
if #unusable > 0 then return { {}, {}, unusable } end

-- A batch that waited for the store may hold both an alarm and its retransmission, and two changes of one thing.
local devicesInBatch, idsInBatch, receiptsInBatch, changedInBatch = {}, {}, {}, {}

-- Several devices may use one id.
local function isOf(row, number)
  if devicesInBatch[number] then return devicesInBatch[number] == row[8] end
  local entry = entryAt(number)
  return entry and entry.i == row[5] and (deviceIn(entry.c) or '') == row[8]
end

local function receiptKey(row, slot)
  return key('receipts:' .. row[8] .. ':' .. slot)
end

local function recordedBefore(row)
  local receipt = row[10]
  if receipt and receipt[3] then
    local packet, digest = receipt[1], receipt[2]
    local known = receiptsInBatch[row[8] .. packet] or redis.call('HGET', receiptKey(row, receipt[5]), packet)
      or redis.call('HGET', receiptKey(row, receipt[6]), packet) or ''
    local number, receivedAtMs = string.match(string.sub(known, #digest + 1), '^:(%d+):(%d+)$')
    -- Packet identifiers begin again with each start of a device: an old receipt is of another alarm.
    local isSame = number and string.sub(known, 1, #digest) == digest
    if isSame and receipt[4] - receivedAtMs < RECEIPTS_KEPT_MS then return tonumber(number) end
  end
  local id = row[6] .. row[7]
  local known = idsInBatch[id] or redis.call('HGET', ids .. row[6], row[7])
  if not known then return nil end
  idsInBatch[id] = known
  for number in string.gmatch(known, '%d+') do
    if isOf(row, number) then return tonumber(number) end
  end
end

local checked = {}
local function check(command, name)
  if not checked[name] then redis.call(command, name) end
  checked[name] = true
end

local indexKeys = {}
for number, names in ipairs(arg.indexes) do
  indexKeys[number] = {}
  for at, name in ipairs(names) do indexKeys[number][at] = key(name) end
end

-- Everything that may fail comes before the first write, because a script is not rolled back.
local results, new, isNew = {}, {}, {}
for at, row in ipairs(rows) do
  local before, condition = recordedBefore(row), row[11]
  local subject = condition and condition[3] .. ' ' .. (condition[4] or '')
  if before then
    results[at] = -before
  elseif condition and (changedInBatch[subject] or not holds(condition)) then
    results[at] = 0
  else
    local failure = row[12] and wrongType(row[12])
    if failure then return failure end
    if row[13] then
      check('XLEN', key('audit:changes'))
      check('XLEN', key('audit:denials'))
    end
    if row[10] then
      local receipts = receiptKey(row, row[10][5])
      if not checked[receipts] then isNew[receipts] = redis.call('HLEN', receipts) == 0 end
      checked[receipts] = true
    end
    for _, index in ipairs(indexKeys[row[3]] or {}) do check('ZCARD', index) end
    last = last + 1
    results[at] = last
    local number, id = text(last), row[6] .. row[7]
    devicesInBatch[number] = row[8]
    idsInBatch[id] = idsInBatch[id] and idsInBatch[id] .. ' ' .. number or number
    if row[10] then receiptsInBatch[row[8] .. row[10][1]] = row[10][2] .. ':' .. number .. ':' .. text(row[10][4]) end
    for _, command in ipairs(row[12] or {}) do
      if command[1] == 'HSET' then changedInBatch[command[2] .. ' ' .. command[3]] = true end
    end
    new[#new + 1] = row
  end
end

-- All additions of a batch to one index, or to one queue, are one command.
local itemsOf, additions, indexOrder = {}, {}, {}
if #new > 0 then redis.call('SET', counter, text(last)) end
for at, row in ipairs(new) do
  local number = text(last - #new + at)
  local fields = row[9]
  fields[#fields + 1], fields[#fields + 2] = 'i', row[5]
  if row[2] > 0 then fields[#fields + 1], fields[#fields + 2] = 'c', arg.places[row[2]] end
  redis.call('XADD', history, number .. '-0', unpack(fields))
  redis.call('HSET', ids .. row[6], row[7], idsInBatch[row[6] .. row[7]])
  if row[10] then
    local receipts = receiptKey(row, row[10][5])
    redis.call('HSET', receipts, row[10][1], receiptsInBatch[row[8] .. row[10][1]])
    -- Three slots: its own, the next, in which its receipts are still looked for, and one for a store that was away.
    if isNew[receipts] then redis.call('PEXPIRE', receipts, 3 * RECEIPTS_KEPT_MS) end
    isNew[receipts] = nil
  end
  for _, index in ipairs(indexKeys[row[3]] or {}) do
    if not additions[index] then
      additions[index] = {}
      indexOrder[#indexOrder + 1] = index
    end
    local added = additions[index]
    -- Fixed width keeps entries with equal scores in the order of their numbers.
    added[#added + 1], added[#added + 2] = row[4], string.rep('0', 12 - #number) .. number
  end
  if row[13] then record(row[13]) end
  for _, command in ipairs(row[12] or {}) do redis.call(unpack(command)) end
  for _, destination in ipairs(arg.sets[row[1]] or {}) do
    local items = itemsOf[destination] or {}
    itemsOf[destination] = items
    items[#items + 1] = number
  end
end
for _, index in ipairs(indexOrder) do redis.call('ZADD', index, unpack(additions[index])) end
local lengths = {}
for at, name in ipairs(arg.destinations) do
  local items = itemsOf[at]
  if items then
    redis.call('HINCRBY', key('session:' .. name), 'accepted', #items)
    lengths[at] = redis.call('RPUSH', key('queue:' .. name), unpack(items))
  else
    lengths[at] = lengthOf(name)
  end
end
return { results, lengths }
