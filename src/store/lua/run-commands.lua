-- Runs commands as one.
-- KEYS[1]  a key in the slot of all written keys
-- ARGV[1]  MessagePack: for each command its name and arguments
-- returns  their replies
local replies = {}
for number, command in ipairs(cmsgpack.unpack(ARGV[1])) do
  replies[number] = redis.call(unpack(command))
end
return replies
