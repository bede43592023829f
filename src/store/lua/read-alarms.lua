-- Reads only.
-- Reads entries of the history, and the states of alarms.
-- KEYS[1] history
-- ARGV[1] prefix of states, in the slot of the history
-- ARGV[2] on: sequences
-- returns for each existing entry its sequence, [field, value, …], and its states or ''
--         (change-alarm-state.lua), which may be those of another alarm that had its sequence
-- As in change-alarm-state.lua.
local STATES_PER_PIECE = 100
local entries = {}
for at = 2, #ARGV do
  local sequence = ARGV[at]
  local row = redis.call('XRANGE', KEYS[1], sequence .. '-0', sequence .. '-0')[1]
  if row then
    local piece = ARGV[1] .. string.format('%.0f', math.floor(tonumber(sequence) / STATES_PER_PIECE))
    entries[#entries + 1] = { sequence, row[2], redis.call('HGET', piece, sequence) or '' }
  end
end
return entries
