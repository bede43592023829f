-- Commands that make a write with others. A script is not rolled back, so what may fail is checked before.
local TYPES = { HSET = 'hash', HDEL = 'hash', LPUSH = 'list', LTRIM = 'list', LREM = 'list', SADD = 'set', SREM = 'set',
  ZADD = 'zset', ZREM = 'zset' }

-- The error of a command on a key of another type, nil if there is none.
local function wrongType(commands)
  for _, command in ipairs(commands) do
    local found, wanted = redis.call('TYPE', command[2]).ok, TYPES[command[1]]
    if wanted and found ~= 'none' and found ~= wanted then
      return redis.error_reply('WRONGTYPE ' .. command[2] .. ' is a ' .. found)
    end
  end
end

-- Whether a condition holds: the wanted reply, '' for none, and a command.
local function holds(condition)
  return tostring(redis.call(unpack(condition, 2)) or '') == condition[1]
end
