-- Reads only.
-- Finds the commands that this user may not run on the site's keys. Redis before 7 cannot tell.
-- arg.commands  with `<key>` where they take a key
-- returns the names of the commands
local missing = {}
if not redis.acl_check_cmd then return missing end
for _, command in ipairs(arg.commands) do
  local words = {}
  for word in string.gmatch(command, '%S+') do
    words[#words + 1] = word == '<key>' and KEYS[1] or word
  end
  -- An older server does not know each of them, and needs no right for that.
  local isKnown, isAllowed = pcall(redis.acl_check_cmd, unpack(words))
  if isKnown and not isAllowed then missing[#missing + 1] = words[1] end
end
return missing
