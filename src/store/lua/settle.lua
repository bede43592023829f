-- Removes entries from the queues of destinations, and counts what became of them. It does not count what is no longer
-- there: the script may run again.
-- arg.atMs  the time, as text
-- arg.rows  for each a destination, the outcome, and the numbers of entries. The outcome is 'delivered', 'expired', or the
--           reason for dropping them
-- returns   for each row the length of the queue; -1 if the destination is gone
--- include destinations
--- include proofs

-- Most are acknowledged in order: one command removes those at the head.
local function remove(queue, numbers)
  local isSettled = {}
  for _, number in ipairs(numbers) do isSettled[number] = true end
  local removed = {}
  for _, number in ipairs(redis.call('LRANGE', queue, 0, #numbers - 1)) do
    if not isSettled[number] then break end
    isSettled[number] = nil
    removed[#removed + 1] = number
  end
  if #removed > 0 then redis.call('LTRIM', queue, #removed, -1) end
  -- A number not between head and tail is gone: a search would go through the whole list.
  local first, last = tonumber(redis.call('LINDEX', queue, 0) or ''), tonumber(redis.call('LINDEX', queue, -1) or '')
  for number in pairs(isSettled) do
    local isThere = first and last and tonumber(number) >= first and tonumber(number) <= last
    if isThere and redis.call('LREM', queue, 1, number) == 1 then removed[#removed + 1] = number end
  end
  return removed
end

local lengths = {}
for at, row in ipairs(arg.rows) do
  local name, outcome = row[1], row[2]
  lengths[at] = -1
  if hasAccount(name, 'dropped', outcome) and lengthOf(name) then
    local removed = remove(key('queue:' .. name), row[3])
    -- A full store takes commands that make room, and those that follow them in the same script.
    if #removed > 0 then
      local isDropped = outcome ~= 'delivered' and outcome ~= 'expired'
      redis.call('HINCRBY', key('session:' .. name), outcome, #removed)
      if isDropped then redis.call('HINCRBY', key('session:' .. name), 'dropped', #removed) end
      noteOutcome(name, isDropped and 'x' or string.sub(outcome, 1, 1), arg.atMs, removed)
    end
    lengths[at] = lengthOf(name)
  end
end
return lengths
