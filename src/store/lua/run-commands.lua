-- Runs commands as one.
-- KEYS[1]  a key in the slot of all that are written
-- ARGV[1]  MessagePack: for each command its name and arguments
-- returns  how many
local commands = cmsgpack.unpack(ARGV[1])
for _, command in ipairs(commands) do redis.call(unpack(command)) end
return #commands
