-- Gives each session of layout 2, which is stored under its client id, the key of its owner's name space.
-- KEYS[1] the set of sessions   KEYS[2] the layout
-- ARGV[1] prefix of sessions, ARGV[2] prefix of received packet identifiers, both in the same slot
-- ARGV[3] the layout to store
-- returns  how many sessions were given one
local carried = 0
for _, clientId in ipairs(redis.call('SMEMBERS', KEYS[1])) do
  -- A session that cannot be read stays as it is, and is reported at the start. So does one that has its owner's key: a
  -- store that was emptied beneath a gateway has lost its layout, and holds what that gateway has stored since.
  local owner = redis.pcall('HGET', ARGV[1] .. clientId, 'owner')
  if type(owner) == 'string' and string.sub(clientId, 1, #owner + 1) ~= owner .. '/' then
    local session = owner .. '/' .. clientId
    redis.call('RENAME', ARGV[1] .. clientId, ARGV[1] .. session)
    if redis.call('EXISTS', ARGV[2] .. clientId) == 1 then
      redis.call('RENAME', ARGV[2] .. clientId, ARGV[2] .. session)
    end
    redis.call('SREM', KEYS[1], clientId)
    redis.call('SADD', KEYS[1], session)
    carried = carried + 1
  end
end
redis.call('SET', KEYS[2], ARGV[3])
return carried
