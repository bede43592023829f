-- Loads the whole site at one moment, after restoring ids that the sets lack.
-- KEYS     the sets of ids of each kind: locations, groups, rooms, devices, access tokens
-- ARGV[1]  JSON: for each of KEYS { record: prefix of its records' keys (all in the same slot),
--                                   unlisted: ids of records that were found, but not in the set }
-- returns  { for each kind [[id, [field, value, …] or nil when its key holds no hash], …],
--            for each kind the ids that its set lacked,
--            the store's first refusal to write, or '' }
-- Records are the authority. The site is read even when writes are refused (full disk, replica).
local kinds = cjson.decode(ARGV[1])
local refusal = ''

local function write(...)
  local reply = redis.pcall(...)
  if type(reply) == 'table' and reply.err and refusal == '' then refusal = reply.err end
end

local function membersOf(set)
  local members = redis.pcall('SMEMBERS', set)
  if not members.err then return members end
  write('DEL', set)
  return {}
end

-- Adds ids that have a record, but are not in the set, to both `ids` and the set.
local function restore(set, ids, kind)
  local listed, restored = {}, {}
  for _, id in ipairs(ids) do listed[id] = true end
  for _, id in ipairs(kind.unlisted) do
    if not listed[id] and redis.call('TYPE', kind.record .. id).ok == 'hash' then
      write('SADD', set, id)
      ids[#ids + 1] = id
      restored[#restored + 1] = id
    end
  end
  return restored
end

local loaded, restored = {}, {}
for number, kind in ipairs(kinds) do
  local ids = membersOf(KEYS[number])
  if #kind.unlisted > 0 then
    restored[number] = restore(KEYS[number], ids, kind)
  else
    restored[number] = {}
  end
  local records = {}
  for at, id in ipairs(ids) do
    local fields = redis.pcall('HGETALL', kind.record .. id)
    records[at] = { id, not fields.err and fields }
  end
  loaded[number] = records
end
return { loaded, restored, refusal }
