-- Gives an alarm a state: writes the alarm's states, an entry of the history and a record of the audit
-- trail in one atomic write. An alarm without states is raised.
-- KEYS[1] sequence counter   KEYS[2] history   KEYS[3] counter of audit records
-- KEYS[4], [5] their streams: of changes, of denials
-- ARGV[1] to ARGV[4] prefixes, all in the slot of the log: of alarm ids, of states, of received packet
--                    identifiers, of open alarms
-- ARGV[5] piece and ARGV[6] field of the alarm's id (alarm-records.ts), ARGV[7] its bytes
-- ARGV[8] location   ARGV[9] 'acknowledged' or 'resolved'   ARGV[10] JSON: { id, name } of the author
-- ARGV[11] note, '' for none   ARGV[12] time, ARGV[13] the same by the steady clock, in milliseconds
-- ARGV[14] JSON of the audit record
-- ARGV[15] session and ARGV[16] packet identifier of a QoS 2 publish, '' for none
-- ARGV[17] device   ARGV[18] how many audit records of changes are kept
-- ARGV[19], [20] prefixes of destinations and of queues   ARGV[21] the tag of the entry
-- ARGV[22] MessagePack: for each destination its name
-- ARGV[23] the newest number that the gateway knows
-- ARGV[24] on: groups in which the alarm may have happened, or '*' for all
-- The states are stored as the bytes of the alarm's id, so that no other alarm with its sequence gets them;
-- 'a' or 'r' for the current state; and JSON: { acknowledged, resolved, note }, each step as
-- { by, atMs, sequence }.
-- returns 'changed', 'unchanged', 'unknown-alarm' or 'alarm-resolved'; after the first two also the sequence
-- of the entry, kind, text of the place, the JSON of the states, and for each destination the length of its
-- queue. Or 'unusable' and the destinations that cannot be pushed to, or an error `WENTBACK n`; these two with
-- nothing written
--- include last-number
--- include destinations
--- include places
--- include queues
local counter, log = KEYS[1], KEYS[2]
local ids, states, received, open, piece, field, id, location = unpack(ARGV, 1, 8)
local wanted, author, note, atMs, steadyMs, audit, session, packet = unpack(ARGV, 9, 16)
local hashes, queues, tag, destinations = ARGV[19], ARGV[20], tonumber(ARGV[21]), cmsgpack.unpack(ARGV[22])
local STATES_PER_PIECE = 100

local last, wentBack = lastAlarm(counter, log, ARGV[23])
if wentBack then return wentBack end

local function isIn(group)
  if ARGV[24] == '*' then return true end
  for at = 24, #ARGV do
    if ARGV[at] == group then return true end
  end
  return false
end

-- Several devices may use one id, and the number of a lost alarm may go to another one.
local sequence, alarm, group
for candidate in string.gmatch(redis.call('HGET', ids .. piece, field) or '', '%d+') do
  local row = redis.call('XRANGE', log, candidate .. '-0', candidate .. '-0')[1]
  local fields = {}
  for at = 1, row and #row[2] or 0, 2 do fields[row[2][at]] = row[2][at + 1] end
  local place = placeOf(fields.c)
  if fields.i == id and place and place.location.id == location and place.device.id == ARGV[17] then
    local groupId = groupOf(place)
    if isIn(groupId) then sequence, alarm, group = candidate, fields, groupId end
  end
end
if not sequence then return { 'unknown-alarm' } end

local pieceOfStates = states .. string.format('%.0f', math.floor(tonumber(sequence) / STATES_PER_PIECE))
local known, letter = {}, ''
local stored = redis.call('HGET', pieceOfStates, sequence)
if stored and string.sub(stored, 1, 16) == id then
  local isReadable, decoded = pcall(cjson.decode, string.sub(stored, 18))
  if isReadable and type(decoded) == 'table' then letter, known = string.sub(stored, 17, 17), decoded end
end

if session ~= '' then redis.call('HLEN', received .. session) end
local function receive()
  if session ~= '' then redis.call('HSET', received .. session, packet, '') end
end

if known[wanted] and (wanted == 'resolved' or letter == 'a') then
  receive()
  return { 'unchanged', known[wanted].sequence, alarm.k, alarm.c, string.sub(stored, 18), {} }
end
if letter == 'r' then return { 'alarm-resolved' } end

local openIndex = open .. location .. ':' .. group .. ':' .. alarm.k
redis.call('ZCARD', openIndex)
local unusable = unusableQueues(hashes, queues, destinations)
if #unusable > 0 then return { 'unusable', unusable } end

local number = last + 1
local numberText = string.format('%.0f', number)
local lastAudited = math.max(tonumber(redis.pcall('GET', KEYS[3])) or 0, lastOf(KEYS[4]), lastOf(KEYS[5]))
local auditNumber = string.format('%.0f', lastAudited + 1)

-- Before the first write: what cannot be encoded must not leave half of the change behind, again with each attempt.
known[wanted] = { by = cjson.decode(author), atMs = tonumber(atMs), sequence = number }
if note ~= '' then known.note = note end
local text = cjson.encode(known)

redis.call('XADD', KEYS[4], 'MAXLEN', '~', ARGV[18], auditNumber .. '-0',
  'at', atMs, 'steady', steadyMs, 'record', audit)
redis.call('SET', KEYS[3], auditNumber)
redis.call('SET', counter, numberText)
-- No field of an alarm except the times: nobody must mistake the entry for an alarm.
redis.call('XADD', log, numberText .. '-0', 'r', atMs, 't', steadyMs, 's', wanted, 'j', id,
  'K', alarm.k, 'c', alarm.c, 'b', author, 'n', note)
if wanted == 'resolved' then
  redis.call('ZREM', openIndex, string.format('%012.0f', tonumber(sequence)))
end
redis.call('HSET', pieceOfStates, sequence, id .. string.sub(wanted, 1, 1) .. text)
receive()
local itemsOf = {}
for at = 1, #destinations do itemsOf[at] = { itemOf(number, tag) } end
return { 'changed', number, alarm.k, alarm.c, text, pushAll(hashes, queues, destinations, itemsOf) }
