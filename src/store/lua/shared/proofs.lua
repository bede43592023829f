-- Notes what became of alarms for a destination, while the alarms are in the history (find-deliveries.lua).
-- Each piece is for a hundred alarms. Its records have the destination's number, the first letter of the outcome, the
-- time in milliseconds, and the last two digits of each alarm's sequence, for a run its ends: 7d1764212345678:4-9,17;
local ALARMS_PER_PROOF = 100

-- Most items are in rising order. Each costs only arithmetic, because an alarm is settled for every destination.
-- proofs: prefix of the pieces   numbers: the hash of the destinations' numbers
local function noteOutcome(proofs, numbers, name, letter, atMs, items)
  if #items == 0 then return end
  -- A key overwritten with another type costs the proof: the settlement must not stop halfway.
  local number = redis.pcall('HGET', numbers, name)
  if type(number) == 'table' then return end
  if not number then
    number = redis.call('HLEN', numbers) + 1
    redis.call('HSET', numbers, name, number)
  end
  local head = number .. letter .. atMs .. ':'
  local floor, runs, piece, from, last = math.floor, {}, nil, nil, nil
  local function endRun()
    if not from then return end
    local first = from % ALARMS_PER_PROOF
    runs[#runs + 1] = from == last and first or first .. '-' .. last % ALARMS_PER_PROOF
  end
  local function endPiece()
    endRun()
    if piece then
      redis.pcall('APPEND', proofs .. string.format('%.0f', piece), head .. table.concat(runs, ',') .. ';')
    end
    runs, from = {}, nil
  end
  for _, item in ipairs(items) do
    local sequence = floor(item / 65536)
    if sequence ~= (last or -2) + 1 or sequence % ALARMS_PER_PROOF == 0 then
      local its = floor(sequence / ALARMS_PER_PROOF)
      if its ~= piece then endPiece() else endRun() end
      piece, from = its, sequence
    end
    last = sequence
  end
  endPiece()
end
