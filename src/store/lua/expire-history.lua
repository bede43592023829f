-- Removes entries from the history that are too old, oldest first and a bounded number at a time, with everything that
-- append.lua wrote for them.
-- arg.beforeMs    an entry received before this is too old   arg.plausibleMs  no clock that is set shows an earlier time
-- arg.queuedFrom  the first entry that a queue may still need   arg.count  how many at most
-- returns how many were removed
--- include history
--- include removal
local PAGES_TO_LOOK_AT = 20
local rows = redis.call('XRANGE', history, '-', '+', 'COUNT', arg.count)

-- An entry from before the clock was set, or without a time, goes with the next one whose age is known.
local last = 0
local function look(some)
  for at, row in ipairs(some) do
    local atMs = tonumber(valuesOf(row).t) or 0
    if numberOf(row) >= arg.queuedFrom or atMs >= arg.beforeMs then return true end
    if atMs >= arg.plausibleMs then last = math.min(at, #rows) end
  end
  return #some < arg.count
end
local looked, isDone = rows, look(rows)
for _ = 1, PAGES_TO_LOOK_AT do
  if isDone or last > 0 then break end
  looked = redis.call('XRANGE', history, '(' .. looked[#looked][1], '+', 'COUNT', arg.count)
  isDone = look(looked)
  if last > 0 then last = #rows end
end

for at = 1, last do removeEntry(rows[at]) end

-- The last entry of a piece of proofs takes the piece with it.
if last > 0 then
  local function pieceOf(row) return math.floor(numberOf(row) / 100) end
  local left = redis.call('XRANGE', history, '-', '+', 'COUNT', 1)[1]
  local lastPiece = pieceOf(rows[last])
  if left and pieceOf(left) == lastPiece then lastPiece = lastPiece - 1 end
  for piece = pieceOf(rows[1]), lastPiece do redis.call('DEL', key('proofs:' .. text(piece))) end
end
return last
