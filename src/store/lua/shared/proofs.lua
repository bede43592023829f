-- Notes what became of alarms for a destination, for as long as the alarms are in the history (find-deliveries.lua).
-- Each piece has those of a hundred alarms: records of the destination's number, the first letter of the outcome, the time
-- in milliseconds, and the last two digits of each alarm's sequence, as 7d1764212345678:4,5,17;
local ALARMS_PER_PROOF = 100

-- proofs: prefix of the pieces   numbers: the hash of the destinations' numbers
local function noteOutcome(proofs, numbers, name, letter, atMs, items)
  if #items == 0 then return end
  local number = redis.call('HGET', numbers, name)
  if not number then
    number = redis.call('HLEN', numbers) + 1
    redis.call('HSET', numbers, name, number)
  end
  local digits = {}
  for _, item in ipairs(items) do
    local sequence = math.floor(tonumber(item) / 65536)
    local piece = math.floor(sequence / ALARMS_PER_PROOF)
    digits[piece] = (digits[piece] and digits[piece] .. ',' or '') .. string.format('%.0f', sequence % ALARMS_PER_PROOF)
  end
  for piece, all in pairs(digits) do
    redis.call('APPEND', proofs .. string.format('%.0f', piece), number .. letter .. atMs .. ':' .. all .. ';')
  end
end
