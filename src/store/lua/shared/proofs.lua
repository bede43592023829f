-- Notes what became of entries for a destination, while they are in the history (deliveries.lua).
-- Each piece is a text for a hundred entries, with a record for each outcome: the last two digits of the number, a letter
-- for the outcome, the time in milliseconds, the destination, and NUL, which no name of a destination has:
-- `17 d 1764212345678 token:…/nurse\0`.
local NUMBERS_PER_PROOF = 100

local function noteOutcome(name, letter, atMs, numbers)
  local piece, records
  local function endPiece()
    -- A key overwritten with another type costs the proof: the settlement must not stop halfway.
    if piece then redis.pcall('APPEND', key('proofs:' .. string.format('%.0f', piece)), table.concat(records)) end
  end
  local rest = ' ' .. letter .. ' ' .. atMs .. ' ' .. name .. '\0'
  for _, number in ipairs(numbers) do
    local its = math.floor(number / NUMBERS_PER_PROOF)
    if its ~= piece then
      endPiece()
      piece, records = its, {}
    end
    records[#records + 1] = number % NUMBERS_PER_PROOF .. rest
  end
  endPiece()
end
