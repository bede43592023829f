-- Removes items from the queues of destinations, and counts what became of them. It does not count an item that is no
-- longer there: the script may run again.
-- KEYS[1] a key in the slot of all
-- ARGV[1] to ARGV[3] prefixes: of destinations, of queues, of streams
-- ARGV[4] MessagePack: rows of a destination, 'alarms' or 'messages', the outcome, and the items: alarms as queued,
--         messages as the id of each followed by the bytes of its payload and properties. The outcome is 'delivered',
--         'expired', or the reason for dropping them
-- ARGV[5] prefix of proofs and ARGV[6] the hash of the destinations' numbers (shared/proofs.lua)   ARGV[7] the time
-- returns for each row the length of the queue, and the bytes in it; -1 for both if the destination is gone
--- include destinations
--- include proofs
local hashes, queues, streams = unpack(ARGV, 1, 3)
local proofs, numbers, atMs = unpack(ARGV, 5, 7)

-- Most items are acknowledged in order: one command removes those at the head.
local function removeAlarms(queue, row)
  local isSettled, count = {}, #row - 3
  for at = 4, #row do isSettled[row[at]] = true end
  local removed = {}
  for _, item in ipairs(redis.call('LRANGE', queue, 0, count - 1)) do
    if not isSettled[item] then break end
    isSettled[item] = nil
    removed[#removed + 1] = item
  end
  if #removed > 0 then redis.call('LTRIM', queue, #removed, -1) end
  -- An item not between head and tail is gone: a search would go through the whole list. An item that went ahead of a
  -- paced backlog is near the tail.
  local first, last = tonumber(redis.call('LINDEX', queue, 0) or ''), tonumber(redis.call('LINDEX', queue, -1) or '')
  for item in pairs(isSettled) do
    local number = tonumber(item)
    local isThere = first and last and number >= first and number <= last
    local from = isThere and number > (first + last) / 2 and -1 or 1
    if isThere and redis.call('LREM', queue, from, item) == 1 then removed[#removed + 1] = item end
  end
  return removed
end

local function removeMessages(stream, row)
  local removed, bytes = 0, 0
  for at = 4, #row, 2 do
    if redis.call('XDEL', stream, row[at]) == 1 then
      removed = removed + 1
      bytes = bytes + row[at + 1]
    end
  end
  return removed, bytes
end

local function count(hash, log, outcome, removed)
  if removed == 0 then return end
  redis.call('HINCRBY', hash, log .. '.' .. outcome, removed)
  local isDropped = outcome ~= 'delivered' and outcome ~= 'expired'
  if isDropped then redis.call('HINCRBY', hash, log .. '.dropped', removed) end
end

local results = {}
for _, row in ipairs(cmsgpack.unpack(ARGV[4])) do
  local name, log, outcome = row[1], row[2], row[3]
  local hash, isAlarms = hashes .. name, log == 'alarms'
  local key = (isAlarms and queues or streams) .. name
  local command = isAlarms and 'LLEN' or 'XLEN'
  local fields = { log .. '.dropped', log .. '.' .. outcome, 'messages.bytes' }
  if hasAccount(hash, unpack(fields)) and lengthOf(command, key) then
    local removed, bytes
    if isAlarms then
      local items = removeAlarms(key, row)
      removed = #items
      local letter = (outcome == 'delivered' or outcome == 'expired') and string.sub(outcome, 1, 1) or 'x'
      noteOutcome(proofs, numbers, name, letter, atMs, items)
    else
      removed, bytes = removeMessages(key, row)
    end
    count(hash, log, outcome, removed)
    results[#results + 1] = redis.call(command, key)
    -- A full store takes commands that make room, and those that follow them in the same script.
    if removed > 0 and not isAlarms then redis.call('HINCRBY', hash, 'messages.bytes', -bytes) end
    results[#results + 1] = tonumber(redis.call('HGET', hash, 'messages.bytes') or 0)
  else
    results[#results + 1] = -1
    results[#results + 1] = -1
  end
end
return results
