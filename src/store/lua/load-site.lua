-- Loads the whole site at one moment, its lists of ids put right by its records.
-- KEYS     the sets of ids of each kind: locations, groups, rooms, devices, access tokens
-- ARGV[1]  JSON: { kinds: for each of KEYS { record: prefix of its records' keys,
--                    unlisted: ids of records that were seen, but not in the set },
--                  memberships: [{ set: prefix of the sets' keys, field: of the member's record,
--                    member: number of the members' kind, owner: of the owners' kind }, …] }
--          All keys are in the same slot.
-- returns  { for each kind [[id, [field, value, …] or nil when its key holds no hash], …],
--            for each kind the ids that were put back into its set,
--            for each membership the owners whose sets were rebuilt,
--            the store's first refusal to write, or '' }
-- Records are the authority. Writes may be refused (full disk, replica): the site is read all the same.
local site = cjson.decode(ARGV[1])
local refusal = ''

local function write(...)
  local reply = redis.pcall(...)
  if type(reply) == 'table' and reply.err and refusal == '' then refusal = reply.err end
end

local function membersOf(key)
  local members = redis.pcall('SMEMBERS', key)
  if not members.err then return members end
  write('DEL', key)
  return {}
end

-- The records of a kind, the ids put back into its set, and field lists by id where readable.
local function load(set, kind)
  local ids, restored, listed = membersOf(set), {}, {}
  for _, id in ipairs(ids) do listed[id] = true end
  for _, id in ipairs(kind.unlisted) do
    local isRecord = redis.call('TYPE', kind.record .. id).ok == 'hash'
    if isRecord and not listed[id] then
      write('SADD', set, id)
      ids[#ids + 1] = id
      restored[#restored + 1] = id
    end
  end
  local listing, fieldsById = {}, {}
  for _, id in ipairs(ids) do
    local fields = redis.pcall('HGETALL', kind.record .. id)
    if fields.err then fields = false end
    listing[#listing + 1] = { id, fields }
    fieldsById[id] = fields or {}
  end
  return listing, restored, fieldsById
end

local function fieldOf(fields, name)
  for at = 1, #fields, 2 do
    if fields[at] == name then return fields[at + 1] end
  end
end

-- By owner, the members that its set must have; owners without any are there as well.
local function expectedMembers(membership, records)
  local expected = {}
  for id in pairs(records[membership.owner]) do expected[id] = {} end
  for id, fields in pairs(records[membership.member]) do
    local owner = fieldOf(fields, membership.field)
    if owner then
      expected[owner] = expected[owner] or {}
      expected[owner][id] = true
    end
  end
  return expected
end

-- Whether the set was other than expected. Members whose record is lost stay: they may be restored.
local function rebuild(set, expected, records)
  local isWrong, found = false, {}
  for _, id in ipairs(membersOf(set)) do
    found[id] = true
    local isLost = records[id] and #records[id] == 0
    if not expected[id] and not isLost then
      isWrong = true
      write('SREM', set, id)
    end
  end
  for id in pairs(expected) do
    if not found[id] then
      isWrong = true
      write('SADD', set, id)
    end
  end
  return isWrong
end

local loaded, restored, records = {}, {}, {}
for number, kind in ipairs(site.kinds) do
  loaded[number], restored[number], records[number] = load(KEYS[number], kind)
end

local rebuilt = {}
for number, membership in ipairs(site.memberships) do
  local owners = {}
  for owner, expected in pairs(expectedMembers(membership, records)) do
    local set = membership.set .. owner
    if rebuild(set, expected, records[membership.member]) then owners[#owners + 1] = owner end
  end
  rebuilt[number] = owners
end
return { loaded, restored, rebuilt, refusal }
