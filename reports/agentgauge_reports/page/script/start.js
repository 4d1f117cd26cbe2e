// Everything begins here.

header();
boards();
breakdowns();
overview();
curves();
cost();
filters();
dialogs();
addresses();
follow();
